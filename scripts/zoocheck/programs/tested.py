import unittest
import zoo


class Tested(unittest.TestCase):
    def test_job(self):
        zoo.meet()
        self.assertTrue(zoo.intact())
